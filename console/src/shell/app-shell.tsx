import { useQuery, useSuspenseQuery, useQueryClient } from '@tanstack/react-query'
import { Outlet } from '@tanstack/react-router'
import { Menu as MenuIcon, Search, CloudOff } from 'lucide-react'
import { Suspense, useEffect, useRef, useState } from 'react'
import type { ComponentType } from 'react'
import { isUnreachable } from '../api/client.ts'
import { organizationQuery, useSession } from '../api/session.ts'
import { Button } from '../components/button.tsx'
import { loadDialogs } from '../components/dialog.tsx'
import { useIsCopy } from '../domain/installation.ts'
import { lazyPart, loadWhenIdle } from '../routing/lazy-part.ts'
import { unreachableEvent } from '../routing/retry-load.ts'
import { text } from '../text/index.ts'
import { CommandPalette, openCommandPalette } from './command-palette.tsx'
import { Shortcuts } from './shortcuts.tsx'
import { useLastOrganization } from './use-last-organization.ts'
import { Sidebar } from './sidebar.tsx'

const Drawer = lazyPart(() => import('./drawer.tsx').then((module) => module.Drawer))
const Notices = lazyPart(() => import('./notices.tsx').then((module) => module.Notices))
const News = lazyPart(async () => {
  await new Promise<void>((resolve) => loadWhenIdle(async () => resolve()))
  return (await import('./news/news.tsx')).News
})

interface AppShellProps {
  /** The content of the command palette. */
  commands: ComponentType<{ onClose: () => void }>
}

/** The layout of pages with a session: navigation in a sidebar, or in a drawer on a small screen. */
export function AppShell({ commands }: AppShellProps) {
  const { data: organization } = useSuspenseQuery(organizationQuery)
  const [drawerOpen, setDrawerOpen] = useState(false)
  const menuButton = useRef<HTMLButtonElement>(null)
  useEffect(() => loadWhenIdle(() => Promise.all([Drawer.load(), loadDialogs()])), [])
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
        <RareNotices />
        <main
          id="content"
          tabIndex={-1}
          aria-labelledby="heading"
          className="flex min-w-0 flex-1 flex-col focus:outline-none"
        >
          <Outlet />
        </main>
      </div>
      <CommandPalette dialog={commands} />
      <Shortcuts />
      <Suspense>
        <News />
      </Suspense>
    </div>
  )
}

/** What few people see, whose code loads only for them. */
function RareNotices() {
  const { data: organization } = useSuspenseQuery(organizationQuery)
  const { user } = useSession()
  const last = useLastOrganization()
  const isCopy = useIsCopy()
  const isUsual = organization.status === 'active' && !user.requires_email_verification && !isCopy
  if (isUsual && last === null) return null
  return (
    <Suspense>
      <Notices last={last} />
    </Suspense>
  )
}

/** The pause between two requests to an unreachable server, in milliseconds */
const probeInterval = 3_000

/** Shown while the server is unreachable. Once it responds, everything that has failed is fetched again. */
function ConnectionNotice() {
  const queryClient = useQueryClient()
  const [away, setAway] = useState(false)
  useQuery({ ...organizationQuery, refetchInterval: away && probeInterval })
  useEffect(() => {
    if (away) return
    void queryClient.refetchQueries({
      type: 'active',
      predicate: ({ state }) => state.fetchStatus === 'idle' && isUnreachable(state.error),
    })
  }, [queryClient, away])
  useEffect(
    () =>
      queryClient.getQueryCache().subscribe(({ type, query }) => {
        if (type !== 'updated') return
        const { error, status, fetchFailureReason } = query.state
        const failure = fetchFailureReason ?? error
        if (isUnreachable(failure)) setAway(true)
        else if (status === 'success' && !failure) setAway(false)
      }),
    [queryClient],
  )
  useEffect(() => {
    const onChange = (event: Event) => setAway((event as CustomEvent<boolean>).detail)
    window.addEventListener(unreachableEvent, onChange)
    return () => window.removeEventListener(unreachableEvent, onChange)
  }, [])
  if (!away) return null
  return (
    <p role="status" className="flex items-center gap-2 bg-warn-soft px-4 py-2 text-warn sm:px-8">
      <CloudOff aria-hidden className="size-4 shrink-0" />
      {text.shell.offline}
    </p>
  )
}
