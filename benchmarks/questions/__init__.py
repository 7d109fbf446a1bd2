"""Questions over long histories: what share of the messages that answer them each search finds.

`stories.txt` holds the material, `generator` makes 20 histories and 300 questions of it, `histories` is the format of
a file (others' histories are measured too), `recipes` holds the searches compared, `measure` the command's figures.
"""
