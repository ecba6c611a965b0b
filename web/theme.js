// Runs before anything is painted: a theme that was chosen here is in place at once. Without a choice the system's counts.
(() => {
  try {
    const chosen = localStorage.getItem('assay.theme');
    if (chosen === 'light' || chosen === 'dark') document.documentElement.dataset.theme = chosen;
  } catch {
    // Storage may be switched off; the system's theme it is.
  }
})();
