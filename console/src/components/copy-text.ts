import { ApiError } from '../api/client.ts'
import { text } from '../text/index.ts'

/** Puts a text on the clipboard, on a page without TLS too; throws ApiError where the browser refuses. */
export async function copyText(value: string): Promise<void> {
  try {
    // Browsers have it on secure pages alone, and a server of one's own is often reached by plain HTTP.
    const clipboard = navigator.clipboard as Clipboard | undefined
    if (clipboard) await clipboard.writeText(value)
    else copyBySelection(value)
  } catch {
    throw new ApiError({ status: 0, code: 'not_copied', detail: text.common.notCopied })
  }
}

/** Copies out of a field that nobody sees. */
function copyBySelection(value: string) {
  const held = document.activeElement
  const field = document.createElement('textarea')
  field.value = value
  field.readOnly = true
  field.setAttribute('aria-hidden', 'true')
  field.className = 'fixed top-0 left-0 opacity-0'
  // A dialog takes the focus back from all that is not within it.
  const place = held?.parentElement ?? document.body
  place.append(field)
  try {
    field.select()
    // oxlint-disable-next-line typescript/no-deprecated
    if (!document.execCommand('copy')) throw new Error('The browser does not copy.')
  } finally {
    field.remove()
    if (held instanceof HTMLElement) held.focus({ preventScroll: true })
  }
}
