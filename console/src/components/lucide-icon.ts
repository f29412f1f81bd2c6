import { createElement } from 'react'
import type { LucideIconData, SVGAttributes } from 'lucide-react'

/**
 * Takes the place of Lucide's function in the bundle, without the properties, context and class names of
 * icons that the console doesn't use.
 */
export default function createLucideIcon({ node }: Pick<LucideIconData, 'node'>) {
  return (props: SVGAttributes) =>
    createElement(
      'svg',
      {
        width: 24,
        height: 24,
        viewBox: '0 0 24 24',
        fill: 'none',
        stroke: 'currentColor',
        strokeWidth: 2,
        strokeLinecap: 'round',
        strokeLinejoin: 'round',
        'aria-hidden': !('aria-label' in props),
        ...props,
      },
      ...node.map(([tag, attributes]) => createElement(tag, attributes)),
    )
}
