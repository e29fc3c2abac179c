"""
X
=

x
"""
# %%
print(1)
