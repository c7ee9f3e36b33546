// Sets light or dark before the first paint. A plain file in <head>, because the policy refuses inline scripts
// and a module would run after the first paint.
(() => {
  const choice = localStorage.getItem('groundwork.theme');
  const dark = choice ? choice === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
  document.documentElement.dataset.theme = dark ? 'dark' : 'light';
})();
