/** The id of the message field. */
export const composerId = 'playground-message'

/**
 * Focuses the message field. On a touch screen, where that would open the keyboard, focuses the main content
 * instead.
 */
export function focusComposer() {
  const field = document.getElementById(composerId)
  const target = matchMedia('(pointer: fine)').matches ? field : document.getElementById('content')
  target?.focus({ preventScroll: true })
}
