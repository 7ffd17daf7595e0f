for (const button of document.querySelectorAll("button[data-copies]"))
  button.addEventListener("click", async () => {
    const from = document.getElementById(button.dataset.copies);
    try { await navigator.clipboard.writeText(from.textContent); button.textContent = "copied"; }
    catch { getSelection().selectAllChildren(from); }
  });
