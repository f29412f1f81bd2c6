import './highlighted-code.css'
import { toJsxRuntime } from 'hast-util-to-jsx-runtime'
import { common, createLowlight } from 'lowlight'
import { Fragment, jsx, jsxs } from 'react/jsx-runtime'

const lowlight = createLowlight(common)

/** Colors code by its syntax; code in an unknown language stays plain. Large, and only needed for code. */
export function HighlightedCode({ code, language }: { code: string; language: string }) {
  if (!lowlight.registered(language)) return code
  return toJsxRuntime(lowlight.highlight(language, code), { Fragment, jsx, jsxs })
}
