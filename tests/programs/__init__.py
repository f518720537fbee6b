from hypothesis import strategies as st
def programs(): return st.nothing()
