"""Labels that were drawn elsewhere: a method that plans nothing, in `method`, and what it rests on."""
