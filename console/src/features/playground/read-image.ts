/** The longest side of a sent image in pixels; models scale larger ones down. */
const longestSide = 1_024
const mostImages = 4

/** Reads images as data URLs of a size that models take, besides those that are already there. */
export async function addImages(
  known: readonly string[],
  files: readonly File[],
): Promise<readonly string[]> {
  const added = await Promise.all(files.slice(0, mostImages - known.length).map(readImage))
  return [...known, ...added]
}

/** Rejects if the file is no image that the browser knows. */
async function readImage(file: File): Promise<string> {
  const bitmap = await createImageBitmap(file)
  const scale = Math.min(1, longestSide / Math.max(bitmap.width, bitmap.height))
  const canvas = document.createElement('canvas')
  canvas.width = Math.max(1, Math.round(bitmap.width * scale))
  canvas.height = Math.max(1, Math.round(bitmap.height * scale))
  const context = canvas.getContext('2d')
  if (!context) throw new Error('The browser has no canvas.')
  // JPEG has no transparency.
  context.fillStyle = 'white'
  context.fillRect(0, 0, canvas.width, canvas.height)
  context.drawImage(bitmap, 0, 0, canvas.width, canvas.height)
  bitmap.close()
  return canvas.toDataURL('image/jpeg', 0.9)
}
