// The visitor's choice of colours, before the page is painted: a classic script in the head. Where storage is forbidden there is no choice to find.
try {
  const theme = localStorage.getItem("theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {}
