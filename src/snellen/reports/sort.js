"use strict";
/* A click on the head of a column sorts the table by it, a second one the other way round. */
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells], body = table.tBodies[0], rows = [...body.rows];
  const text = (row, place) => row.cells[place].dataset.sort ?? row.cells[place].textContent.trim();
  const amount = /^(?:less than|more than|[<>x+\s])*([-−]?\d+(?:,\d{3})*(?:\.\d+)?)/;
  const number = (cell) => parseFloat((amount.exec(cell)?.[1] ?? "").replace("−", "-").replaceAll(",", ""));
  const isReference = (row) => text(row, 0).startsWith("(");  /* chance and the like stay below the subjects */
  const sort = (place, sign) => {
    const isNumeric = rows.some((row) => !isReference(row) && place && !isNaN(number(text(row, place))));
    const missing = (row) => isReference(row) ? 2 : isNumeric && isNaN(number(text(row, place))) ? 1 : 0;
    const compare = (a, b) => isNumeric ? number(a) - number(b) : a.localeCompare(b, "en", { numeric: true });
    body.append(...[...rows].sort((a, b) => missing(a) - missing(b) ||
      (missing(a) ? 0 : sign * compare(text(a, place), text(b, place)))));
  };
  if (rows.length > 2) heads.forEach((head, place) => {
    if (head.tagName !== "TH") return;
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    button.onclick = () => {
      const isFirst = head.ariaSort !== "ascending";
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", isFirst ? "ascending" : "descending");
      sort(place, isFirst ? 1 : -1);
    };
    head.append(button);
  });
}
