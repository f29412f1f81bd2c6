export const composerId = 'playground-message'

/** Focuses the message field, or the main content where a touch keyboard would open. */
export function focusComposer() {
  const field = document.getElementById(composerId)
  const target = matchMedia('(pointer: fine)').matches ? field : document.getElementById('content')
  target?.focus({ preventScroll: true })
}
