import { ApiError } from '../api/client.ts'
import { text } from '../text/index.ts'

/** Copies a text to the clipboard; throws ApiError if the browser refuses. */
export async function copyText(value: string): Promise<void> {
  try {
    // Browsers offer navigator.clipboard only over TLS, and self-hosted servers often run on plain HTTP.
    const clipboard = navigator.clipboard as Clipboard | undefined
    if (clipboard) await clipboard.writeText(value)
    else copyBySelection(value)
  } catch {
    throw new ApiError({ status: 0, code: 'not_copied', detail: text.common.notCopied })
  }
}

/** Copies from an invisible text field. */
function copyBySelection(value: string) {
  const focused = document.activeElement
  const field = document.createElement('textarea')
  field.value = value
  field.readOnly = true
  field.setAttribute('aria-hidden', 'true')
  field.className = 'fixed top-0 left-0 opacity-0'
  // Inside a dialog, only an element of the dialog can hold the focus.
  const container = focused?.parentElement ?? document.body
  container.append(field)
  try {
    field.select()
    // oxlint-disable-next-line typescript/no-deprecated
    if (!document.execCommand('copy')) throw new Error('The browser refused to copy.')
  } finally {
    field.remove()
    if (focused instanceof HTMLElement) focused.focus({ preventScroll: true })
  }
}
