import { Outlet } from '@tanstack/react-router'
import { Menu as MenuIcon } from 'lucide-react'
import { Dialog } from 'radix-ui'
import { useState, type ComponentType } from 'react'
import { Button } from '../components/button.tsx'
import { text } from '../text/index.ts'
import { CommandPalette } from './command-palette.tsx'
import { ConnectionNotice } from './connection-notice.tsx'
import { EmailNotice } from './email-notice.tsx'
import { Sidebar } from './sidebar.tsx'
import { Wordmark } from '../components/wordmark.tsx'

interface AppShellProps {
  /** The content of the command palette. */
  commands: ComponentType<{ onClose: () => void }>
}

/** The layout of every page that requires a session: navigation in a sidebar, or in a drawer on a small screen. */
export function AppShell({ commands }: AppShellProps) {
  const [drawerOpen, setDrawerOpen] = useState(false)
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
          <Dialog.Root open={drawerOpen} onOpenChange={setDrawerOpen}>
            <Dialog.Trigger asChild>
              <Button variant="quiet" size="icon" aria-label={text.shell.openNavigation}>
                <MenuIcon />
              </Button>
            </Dialog.Trigger>
            <Dialog.Portal>
              <Dialog.Overlay className="fixed inset-0 z-40 bg-black/45" />
              <Dialog.Content
                aria-describedby={undefined}
                className="fixed inset-y-0 left-0 z-50 w-64 max-w-[85vw] border-r bg-surface shadow-xl focus:outline-none"
              >
                <Dialog.Title className="sr-only">{text.shell.navigation}</Dialog.Title>
                <Sidebar onNavigate={() => setDrawerOpen(false)} />
              </Dialog.Content>
            </Dialog.Portal>
          </Dialog.Root>
          <Wordmark />
        </header>
        <ConnectionNotice />
        <EmailNotice />
        <main id="content" tabIndex={-1} className="flex min-w-0 flex-1 flex-col focus:outline-none">
          <Outlet />
        </main>
      </div>
      <CommandPalette dialog={commands} />
    </div>
  )
}
