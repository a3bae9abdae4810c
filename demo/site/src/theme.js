// The visitor's choice of colours, before the page is painted: a classic script in the head.
{
  const theme = localStorage.getItem("theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
}
