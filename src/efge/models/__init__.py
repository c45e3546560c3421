"""The estimators: a graph goes in, an embedding of its nodes comes out.

`base` has what all estimators share, which is scikit-learn's interface; `walk_base` has what those that learn from
random walks share. Each method has a module of its own. `scoring` scores pairs of nodes and recommends links, `files`
and `parameters` save and load estimators, and `memory` estimates what training will take.

This package may import `training`, `embedding`, `families`, `walks`, `graph`, and whatever these import. `base`,
`hope`, `netmf` and `bigclam` do without `training`, so that importing one of these estimators stays quick.
"""
