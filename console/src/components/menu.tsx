import { Suspense, useEffect, useId, useRef, useState } from 'react'
import type { ReactNode } from 'react'
import { lazyPart, loadWhenIdle } from '../routing/lazy-part.ts'
import { Slot } from './slot.tsx'

const load = () => import('./menu-content.tsx')
const MenuContent = lazyPart(() => load().then((module) => module.MenuContent))

export const MenuItem = lazyPart(() => load().then((module) => module.MenuItem))
export const MenuLabel = lazyPart(() => load().then((module) => module.MenuLabel))
export const MenuSeparator = lazyPart(() => load().then((module) => module.MenuSeparator))

const parts = [MenuContent, MenuItem, MenuLabel, MenuSeparator]
const loadMenus = () => Promise.all(parts.map((part) => part.load()))

interface MenuProps {
  /** A button */
  trigger: ReactNode
  children: ReactNode
  align?: 'start' | 'end'
}

/** A dropdown menu of MenuItems. Most of its code is not part of the first view. */
export function Menu({ trigger, children, align = 'end' }: MenuProps) {
  const id = useId()
  const button = useRef<HTMLButtonElement>(null)
  const [openedBy, setOpenedBy] = useState<'keyboard' | 'pointer' | null>(null)
  const isOpen = openedBy !== null
  const toggle = (by: 'keyboard' | 'pointer') => setOpenedBy((opened) => (opened === null ? by : null))
  useEffect(() => loadWhenIdle(loadMenus), [])
  return (
    <>
      <Slot
        ref={button}
        id={id}
        aria-haspopup="menu"
        aria-expanded={isOpen}
        onPointerDown={(event) => {
          if (event.button !== 0 || event.ctrlKey) return
          toggle('pointer')
          // Leaves the focus to the content.
          if (!isOpen) event.preventDefault()
        }}
        onKeyDown={(event) => {
          if (!['Enter', ' ', 'ArrowDown'].includes(event.key)) return
          if (event.key === 'ArrowDown') setOpenedBy('keyboard')
          else toggle('keyboard')
          event.preventDefault()
        }}
      >
        {trigger}
      </Slot>
      {isOpen && (
        <Suspense>
          <MenuContent
            button={button}
            labelledBy={id}
            align={align}
            focusesFirst={openedBy === 'keyboard'}
            onClose={() => setOpenedBy(null)}
          >
            {children}
          </MenuContent>
        </Suspense>
      )}
    </>
  )
}
