"""Operations on consumer groups: who is in them, where they stand, and moving them."""
