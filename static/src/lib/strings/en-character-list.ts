// English texts for searching and sorting characters.

export default {
  "shelf.search": "Find a character",
  "shelf.order": "Sort",
  "shelf.by.newest": "Newest first",
  "shelf.by.played": "Recently played first",
  "shelf.by.name": "By name",
  "shelf.tags": "Tags",
  "shelf.favourites": "Favourites",
  "shelf.count": "{n} character|{n} characters",
  "shelf.none": "No matching characters.",
  "shelf.noneHint": "Use fewer words or tags.",
  "shelf.clear": "Show all",
};
