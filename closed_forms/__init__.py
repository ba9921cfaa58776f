"""What the gradient of one optimizer step ought to be: closed forms in float64, from counts alone.

aggregation: the weight of every target under each way to average. logged: what is logged, against what was
differentiated. rounding: how far a measured weight may be off for rounding alone.
"""
