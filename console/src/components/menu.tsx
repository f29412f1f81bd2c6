import { DropdownMenu } from 'radix-ui'
import type { ComponentProps, ReactNode } from 'react'
import { classNames } from '../class-names.ts'

/** A dropdown menu of MenuItems. */
export function Menu({
  trigger,
  children,
  align = 'end',
}: {
  trigger: ReactNode
  children: ReactNode
  align?: 'start' | 'end'
}) {
  return (
    <DropdownMenu.Root modal={false}>
      <DropdownMenu.Trigger asChild>{trigger}</DropdownMenu.Trigger>
      {/* Without a portal the menu stays inside the landmark of its button. Its fixed position keeps ancestors from clipping it. */}
      <DropdownMenu.Content
        align={align}
        sideOffset={6}
        collisionPadding={8}
        className="z-50 max-h-80 min-w-52 overflow-y-auto rounded-lg border bg-raised p-1 shadow-lg"
      >
        {children}
      </DropdownMenu.Content>
    </DropdownMenu.Root>
  )
}

/** One action of a menu; with `asChild`, a link. */
export function MenuItem({
  dangerous,
  className,
  ...props
}: ComponentProps<typeof DropdownMenu.Item> & { dangerous?: boolean }) {
  return (
    <DropdownMenu.Item
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
  return <DropdownMenu.Label className="px-2.5 py-1.5 text-xs text-muted">{children}</DropdownMenu.Label>
}

export function MenuSeparator() {
  return <DropdownMenu.Separator className="-mx-1 my-1 h-px bg-line" />
}
