// English for looking through many characters.

export default {
  "shelf.search": "Find a character",
  "shelf.order": "Order",
  "shelf.by.newest": "Newest first",
  "shelf.by.played": "Last played first",
  "shelf.by.name": "By name",
  "shelf.tags": "Tags",
  "shelf.favourites": "Favourites",
  "shelf.count": "{n} character|{n} characters",
  "shelf.none": "No character is like that.",
  "shelf.noneHint": "Fewer words or fewer tags find more.",
  "shelf.clear": "Show all",
};
