/** The field where a message is written. */
export const composerId = 'playground-message'

/**
 * Gives the focus to the message field after what had it has gone. Not on a touch screen, where it would bring the keyboard up:
 * the conversation gets it there.
 */
export function focusComposer() {
  const field = document.getElementById(composerId)
  const target = matchMedia('(pointer: fine)').matches ? field : document.getElementById('content')
  target?.focus({ preventScroll: true })
}
