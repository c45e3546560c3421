"""The methods that EFGE is compared with, as estimators with the same contract."""
