import type { KeyboardEvent } from 'react'

/** Enter without Shift and outside of an IME composition, which Safari reports as key code 229. */
export function isPlainEnter({ key, shiftKey, nativeEvent }: KeyboardEvent): boolean {
  return key === 'Enter' && !shiftKey && !nativeEvent.isComposing && nativeEvent.keyCode !== 229
}
