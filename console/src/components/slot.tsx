import { cloneElement } from 'react'
import type { ComponentProps, ReactElement, ReactNode, Ref } from 'react'
import { classNames } from '../class-names.ts'

interface SlotProps extends ComponentProps<'button'> {
  children: ReactNode
}

type Child = ReactElement<ComponentProps<'button'>>

/** Gives its properties to its only child, whose own ones win. Class names and refs add up. */
export function Slot({ children, className, ref, ...props }: SlotProps) {
  const child = children as Child
  const { className: ownClassName, ref: ownRef } = child.props
  return cloneElement(child, {
    ...props,
    ...child.props,
    className: classNames(className, ownClassName),
    ...((ref || ownRef) && {
      ref: (node: HTMLButtonElement | null) => {
        setRef(ref, node)
        setRef(ownRef, node)
      },
    }),
  })
}

function setRef<Node>(ref: Ref<Node> | undefined, node: Node | null) {
  if (typeof ref === 'function') ref(node)
  else if (ref) ref.current = node
}
