"""The paper's tables and figures, measured again, with the published numbers beside ours."""
