// A chart as PNG: the browser draws the bench's SVG and saves it. Nothing leaves this machine.

// Twice as many pixels as the drawing has: sharp in a document.
const SCALE = 2;

async function save(address, name) {
  const image = new Image();
  image.src = address;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = image.naturalWidth * SCALE;
  canvas.height = image.naturalHeight * SCALE;
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  const blob = await new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = `${name}.png`;
  link.click();
  URL.revokeObjectURL(link.href);
}

for (const button of document.querySelectorAll("[data-png]")) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    button.disabled = true;
    try {
      await save(button.dataset.png, button.dataset.name);
      button.textContent = "PNG";
    } catch {
      button.textContent = "PNG: the chart cannot be loaded";
    }
    button.disabled = false;
  });
}
