// Names and roles that the theme leaves out, for those who listen to a page or go through it by keyboard.

// Captions of the table of contents are headings, of a level.
for (const caption of document.querySelectorAll('[role="heading"]:not([aria-level])')) {
  caption.setAttribute("aria-level", "2");
}

// Two complementary regions are told apart by their names.
document.querySelector("aside.sidebar-drawer")?.setAttribute("aria-label", "Contents");
document.querySelector("aside.toc-drawer")?.setAttribute("aria-label", "On this page");

// The label of a folded cell is the text that is seen, of which one half is hidden.
for (const summary of document.querySelectorAll("summary[aria-label]")) {
  summary.removeAttribute("aria-label");
}

// The page of search results has a title for those who see it alone.
if (!document.querySelector("h1")) {
  const title = document.createElement("h1");
  title.textContent = document.title.split(" - ")[0];
  title.className = "for-listeners";
  document.querySelector("article, main")?.prepend(title);
}

// Boxes that scroll are reached by the Tab key, so that the arrows move them.
function reachScrolling() {
  for (const element of document.querySelectorAll("pre, .table-wrapper, .output, .math")) {
    if (element.scrollWidth > element.clientWidth) {
      element.tabIndex = 0;
    } else {
      element.removeAttribute("tabindex");
    }
  }
}
reachScrolling();
addEventListener("load", reachScrolling);
addEventListener("resize", reachScrolling);
