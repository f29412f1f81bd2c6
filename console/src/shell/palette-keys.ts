/** The keys that open the command palette on this machine. */
export const paletteKeys: readonly string[] = /Mac|iPhone|iPad/.test(navigator.platform)
  ? ['⌘', 'K']
  : ['Ctrl', 'K']
