"""Attribution read as words: the explanation a person sees and the span scores it is made of."""
