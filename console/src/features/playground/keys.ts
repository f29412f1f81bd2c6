import type { KeyboardEvent } from 'react'

/** Enter that means "send": not with Shift, and not the one that ends a composition (229 is how Safari tells that). */
export function isPlainEnter({ key, shiftKey, nativeEvent }: KeyboardEvent): boolean {
  return key === 'Enter' && !shiftKey && !nativeEvent.isComposing && nativeEvent.keyCode !== 229
}
