import { Menu } from 'radix-ui/internal'
import { useRef } from 'react'
import type { ComponentProps, ReactNode, RefObject } from 'react'
import { classNames } from '../class-names.ts'

interface MenuContentProps {
  button: RefObject<HTMLButtonElement | null>
  labelledBy: string
  align: 'start' | 'end'
  focusesFirst: boolean
  onClose: () => void
  children: ReactNode
}

/** The open part of a menu, without Radix's button, which must not wait for this code. */
export function MenuContent({
  button,
  labelledBy,
  align,
  focusesFirst,
  onClose,
  children,
}: MenuContentProps) {
  const leftByPointer = useRef(false)
  return (
    <Menu.Root open modal={false} onOpenChange={onClose}>
      <Menu.Anchor virtualRef={button} />
      {/* Without a portal the menu stays inside the landmark of its button. Its fixed position keeps ancestors from clipping it. */}
      <Menu.Content
        align={align}
        sideOffset={6}
        collisionPadding={8}
        aria-labelledby={labelledBy}
        onEntryFocus={(event) => {
          if (!focusesFirst) return
          event.preventDefault()
          const content = event.currentTarget as HTMLElement
          content.querySelector<HTMLElement>('[role=menuitem]:not([data-disabled])')?.focus()
        }}
        onInteractOutside={() => (leftByPointer.current = true)}
        onCloseAutoFocus={(event) => {
          event.preventDefault()
          if (!leftByPointer.current) button.current?.focus()
        }}
        className="z-50 max-h-80 min-w-52 overflow-y-auto rounded-lg border bg-raised p-1 shadow-lg"
      >
        {children}
      </Menu.Content>
    </Menu.Root>
  )
}

/** One action of a menu; with `asChild`, a link. */
export function MenuItem({
  dangerous,
  className,
  ...props
}: ComponentProps<typeof Menu.Item> & { dangerous?: boolean }) {
  return (
    <Menu.Item
      className={classNames(
        'flex cursor-default items-center gap-2.5 rounded-md px-2.5 py-1.5 outline-none select-none',
        'data-[disabled]:opacity-50 data-[highlighted]:bg-subtle [&_svg]:size-4',
        dangerous ? 'text-bad' : '[&_svg]:text-muted',
        className,
      )}
      {...props}
    />
  )
}

/** A heading inside a menu. */
export function MenuLabel({ children }: { children: ReactNode }) {
  return <Menu.Label className="px-2.5 py-1.5 text-xs text-muted">{children}</Menu.Label>
}

export function MenuSeparator() {
  return <Menu.Separator className="-mx-1 my-1 h-px bg-line" />
}
