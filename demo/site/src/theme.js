// Applies the visitor's colour theme before the first paint, which takes a classic script in the
// head. If storage is blocked, no choice was saved.
try {
  const theme = localStorage.getItem("theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {}
