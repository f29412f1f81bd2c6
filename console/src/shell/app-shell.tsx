import { useSuspenseQuery } from '@tanstack/react-query'
import { Outlet } from '@tanstack/react-router'
import { Menu as MenuIcon, Search } from 'lucide-react'
import { Suspense, useEffect, useRef, useState } from 'react'
import type { ComponentType } from 'react'
import { organizationQuery } from '../api/session.ts'
import { Button } from '../components/button.tsx'
import { lazyPart, loadWhenIdle } from '../routing/lazy-part.ts'
import { text } from '../text/index.ts'
import { CommandPalette, openCommandPalette } from './command-palette.tsx'
import { ConnectionNotice } from './connection-notice.tsx'
import { EmailNotice } from './email-notice.tsx'
import { Shortcuts } from './shortcuts.tsx'
import { Sidebar } from './sidebar.tsx'
import { SuspensionNotice } from './suspension-notice.tsx'

const loadDrawer = () => import('./drawer.tsx').then((module) => module.Drawer)
const Drawer = lazyPart(loadDrawer)

interface AppShellProps {
  /** The content of the command palette. */
  commands: ComponentType<{ onClose: () => void }>
}

/** The layout of pages with a session: navigation in a sidebar, or in a drawer on a small screen. */
export function AppShell({ commands }: AppShellProps) {
  const { data: organization } = useSuspenseQuery(organizationQuery)
  const [drawerOpen, setDrawerOpen] = useState(false)
  const menuButton = useRef<HTMLButtonElement>(null)
  useEffect(() => loadWhenIdle(loadDrawer), [])
  return (
    <div className="bg-canvas lg:grid lg:grid-cols-[15rem_minmax(0,1fr)]">
      <a
        href="#content"
        className="sr-only focus:not-sr-only focus:fixed focus:top-3 focus:left-3 focus:z-50 focus:rounded-md focus:bg-raised focus:px-3 focus:py-2 focus:shadow"
      >
        {text.shell.skipToContent}
      </a>
      <aside className="sticky top-0 hidden h-dvh border-r bg-surface lg:block">
        <Sidebar />
      </aside>
      <div className="flex min-h-dvh min-w-0 flex-col">
        <header className="sticky top-0 z-30 flex h-14 items-center gap-3 border-b bg-surface px-3 lg:hidden">
          <Button
            ref={menuButton}
            variant="quiet"
            size="icon"
            aria-label={text.shell.openNavigation}
            aria-haspopup="dialog"
            aria-expanded={drawerOpen}
            onClick={() => setDrawerOpen(true)}
          >
            <MenuIcon />
          </Button>
          {drawerOpen && (
            <Suspense>
              <Drawer button={menuButton} onClose={() => setDrawerOpen(false)} />
            </Suspense>
          )}
          <span className="min-w-0 flex-1 truncate font-medium">{organization.name}</span>
          <Button variant="quiet" size="icon" aria-label={text.shell.commands} onClick={openCommandPalette}>
            <Search />
          </Button>
        </header>
        <ConnectionNotice />
        <EmailNotice />
        <SuspensionNotice />
        <main id="content" tabIndex={-1} className="flex min-w-0 flex-1 flex-col focus:outline-none">
          <Outlet />
        </main>
      </div>
      <CommandPalette dialog={commands} />
      <Shortcuts />
    </div>
  )
}
