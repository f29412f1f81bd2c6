import { Link, useLocation } from '@tanstack/react-router'
import { HardDrive, HeartPulse, Hourglass, LogOut, Server, Stethoscope, Users } from 'lucide-react'
import type { ComponentType, ReactNode } from 'react'
import { Wordmark } from '../components/wordmark.tsx'
import { text } from '../text/index.ts'

const words = text.server

const icons = {
  machines: Server,
  waiting: Hourglass,
  weights: HardDrive,
  health: HeartPulse,
  organizations: Users,
  findings: Stethoscope,
} satisfies Record<keyof typeof words.views, unknown>

interface OperatorSidebarProps {
  /** The classes of a link */
  item: string
  /** The sidebar of an organization */
  usual: ComponentType<{ onNavigate: (() => void) | undefined; link: ReactNode }>
  /** The menu of the signed-in person */
  account: ReactNode
  onNavigate?: (() => void) | undefined
}

/** The sidebar of operators: at the pages about the whole installation, which belong to no organization. */
export function OperatorSidebar({ item, usual: Usual, account, onNavigate }: OperatorSidebarProps) {
  const onClick = onNavigate && { onClick: onNavigate }
  const isAtServer = useLocation({ select: ({ pathname }) => /^\/server(\/|$)/.test(pathname) })
  if (!isAtServer) {
    const link = (
      <Link to="/server/{-$view}" className={item} {...onClick}>
        <Server aria-hidden />
        {words.title}
      </Link>
    )
    return <Usual onNavigate={onNavigate} link={link} />
  }
  return (
    <div className="flex h-full flex-col gap-4 overflow-y-auto p-3">
      <div className="px-2.5 pt-2">
        <Wordmark />
      </div>
      <p className="px-2.5 text-xs font-semibold text-muted">{words.title}</p>
      <nav aria-label={words.navigation} className="grid gap-0.5">
        {Object.entries(icons).map(([view, Icon]) => (
          <Link
            key={view}
            to="/server/{-$view}"
            params={{ view: view === 'machines' ? undefined : view }}
            activeOptions={{ exact: true, includeSearch: false }}
            className={item}
            {...onClick}
          >
            <Icon aria-hidden />
            {words.views[view as keyof typeof icons].title}
          </Link>
        ))}
      </nav>
      <div className="mt-auto grid gap-0.5">
        <Link to="/deployments" className={item} {...onClick}>
          <LogOut aria-hidden className="rotate-180" />
          {words.back}
        </Link>
        {account}
      </div>
    </div>
  )
}
