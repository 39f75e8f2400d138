"use strict";
// A click on a heading sorts its table, largest first, words from A on; another click turns it round. What is unknown
// stays last. Without this script the tables are as they were written.
for (const table of document.querySelectorAll("table")) {
  const body = table.tBodies[0], heads = [...table.tHead.rows[0].cells];
  if (body.rows.length < 2) continue;
  heads.forEach((head, at) => {
    const words = head.classList.contains("words");
    const number = (row) => parseFloat(row.cells[at].dataset.n ?? row.cells[at].textContent);
    const text = (row) => row.cells[at].textContent;
    const button = document.createElement("button");
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const first = words ? "ascending" : "descending", other = words ? "descending" : "ascending";
      const order = head.getAttribute("aria-sort") === first ? other : first;
      const sign = order === "ascending" ? 1 : -1;
      const unknown = (row) => (words ? text(row) === "-" : Number.isNaN(number(row)));
      const compared = (a, b) =>
        words ? text(a).localeCompare(text(b), "en", { numeric: true }) : number(a) - number(b);
      const rows = [...body.rows].sort(
        (a, b) => unknown(a) - unknown(b) || (unknown(a) ? 0 : sign * compared(a, b)));
      heads.forEach((each) => each.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", order);
      body.append(...rows);
    });
  });
}
