"""Files for people and for other tools, each written from the folder of a campaign."""
