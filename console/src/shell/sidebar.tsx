import { useQuery, useSuspenseQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { BookOpen, Search, LogOut, Mail, UserRound, Check, ChevronsUpDown } from 'lucide-react'
import { Suspense } from 'react'
import type { ReactNode } from 'react'
import { useSession, organizationQuery } from '../api/session.ts'
import { Menu, MenuItem, MenuLabel, MenuSeparator } from '../components/menu.tsx'
import { Wordmark } from '../components/wordmark.tsx'
import { useOwnInvitations } from '../domain/session/invitations-query.ts'
import { organizationsQuery, useSwitchOrganization } from '../domain/session/organizations.ts'
import { useSignOut } from '../domain/session/sign-out.ts'
import { lazyPart } from '../routing/lazy-part.ts'
import { text } from '../text/index.ts'
import { chooseTheme, useTheme } from '../theme.ts'
import { openCommandPalette } from './command-palette.tsx'
import { useNavigation } from './navigation.ts'
import { paletteKeys } from './palette-keys.ts'
import { themes } from './themes.ts'

const OperatorSidebar = lazyPart(() =>
  import('./operator-sidebar.tsx').then((module) => module.OperatorSidebar),
)

const item =
  'flex items-center gap-2.5 rounded-md px-2.5 py-1.5 font-medium text-muted hover:bg-subtle hover:text-ink [&_svg]:size-4 ' +
  'data-[status=active]:bg-subtle data-[status=active]:text-ink data-[status=active]:[&_svg]:text-accent'

interface SidebarProps {
  onNavigate?: (() => void) | undefined
  /** Leads operators to their pages. */
  link?: ReactNode
}

/** The sidebar. Operators have another one at the pages about the whole installation. */
export function Sidebar(props: SidebarProps) {
  const { user } = useSession()
  if (!user.operator) return <OwnSidebar {...props} />
  return (
    <Suspense>
      <OperatorSidebar {...props} item={item} usual={OwnSidebar} account={<AccountMenu />} />
    </Suspense>
  )
}

/** Organization, navigation and account. */
function OwnSidebar({ onNavigate, link }: SidebarProps) {
  const pages = useNavigation()
  return (
    <div className="flex h-full flex-col gap-4 overflow-y-auto p-3">
      <div className="px-2.5 pt-2">
        <Wordmark />
      </div>
      <OrganizationSwitcher />
      {link}
      <button
        type="button"
        onClick={() => {
          onNavigate?.()
          openCommandPalette()
        }}
        className="flex h-9 items-center gap-2.5 rounded-md border px-2.5 text-muted hover:bg-subtle hover:text-ink"
      >
        <Search aria-hidden className="size-4" />
        {text.shell.commands}
        {/* The drawer is for phones, which have no such keys. */}
        {!onNavigate && <kbd className="ml-auto font-sans text-xs">{paletteKeys.join(' ')}</kbd>}
      </button>
      <nav aria-label={text.shell.navigation} className="relative grid gap-0.5">
        {pages.map(({ to, label, icon: Icon }) => (
          <Link key={to} to={to} className={item} {...(onNavigate && { onClick: onNavigate })}>
            <Icon aria-hidden />
            {label}
          </Link>
        ))}
      </nav>
      <div className="mt-auto grid gap-0.5">
        <a href="/docs" target="_blank" className={item}>
          <BookOpen aria-hidden />
          {text.shell.apiReference}
        </a>
        <AccountMenu />
      </div>
    </div>
  )
}

/** The current organization; a menu for members of several organizations. */
function OrganizationSwitcher() {
  const { data: organization } = useSuspenseQuery(organizationQuery)
  const { data: organizations = [] } = useQuery(organizationsQuery)
  const change = useSwitchOrganization()
  const face = (
    <>
      <span
        aria-hidden
        className="grid size-6 shrink-0 place-items-center rounded bg-accent-soft text-xs font-semibold text-accent"
      >
        {organization.name.slice(0, 1).toUpperCase()}
      </span>
      <span className="grid min-w-0 text-left leading-tight">
        <span className="truncate font-medium">{organization.name}</span>
        <span className="text-xs text-muted">{text.shell.role[organization.role]}</span>
      </span>
    </>
  )
  if (organizations.length < 2) return <div className="flex items-center gap-2.5 px-2.5 py-1">{face}</div>
  return (
    <Menu
      align="start"
      trigger={
        <button type="button" className="flex items-center gap-2.5 rounded-md px-2.5 py-1 hover:bg-subtle">
          {face}
          <ChevronsUpDown aria-hidden className="ml-auto size-4 shrink-0 text-muted" />
        </button>
      }
    >
      <MenuLabel>{text.shell.switchOrganization}</MenuLabel>
      {organizations.map((one) => (
        <MenuItem key={one.id} onSelect={() => !one.current && change.mutate(one)}>
          <span className="grid">
            {one.name}
            <span className="text-xs text-muted">{text.shell.role[one.role]}</span>
          </span>
          {one.current && <Check aria-hidden className="ml-auto" />}
        </MenuItem>
      ))}
    </Menu>
  )
}

/** The signed-in person, with a menu for the profile, the theme and sign-out. */
function AccountMenu() {
  const { user } = useSession()
  return (
    <Menu
      align="start"
      trigger={
        <button
          type="button"
          className="flex items-center gap-2.5 rounded-md px-2.5 py-1.5 text-left hover:bg-subtle"
        >
          <span
            aria-hidden
            className="grid size-7 shrink-0 place-items-center rounded-full bg-accent text-xs font-semibold text-on-accent"
          >
            {user.name.slice(0, 1).toUpperCase()}
          </span>
          <span className="grid min-w-0 leading-tight">
            <span className="truncate font-medium">{user.name}</span>
            <span className="truncate text-xs text-muted">{user.email}</span>
          </span>
          <span className="sr-only">{text.shell.account}</span>
        </button>
      }
    >
      <Items />
    </Menu>
  )
}

/** Rendered only while the menu is open. */
function Items() {
  const theme = useTheme()
  const signOut = useSignOut()
  const { data: invitations = [] } = useOwnInvitations()
  return (
    <>
      <MenuItem asChild>
        <Link to="/profile">
          <UserRound aria-hidden />
          {text.pages.profile.title}
        </Link>
      </MenuItem>
      {invitations.length > 0 && (
        <MenuItem asChild>
          <Link to="/profile" hash="invitations">
            <Mail aria-hidden />
            {text.shell.invitations(invitations.length)}
          </Link>
        </MenuItem>
      )}
      <MenuSeparator />
      <MenuLabel>{text.shell.theme}</MenuLabel>
      {themes.map(({ value, icon: Icon }) => (
        <MenuItem key={value} onSelect={() => chooseTheme(value)} aria-current={theme === value || undefined}>
          <Icon aria-hidden />
          {text.shell.themes[value]}
          {theme === value && <span aria-hidden className="ml-auto size-1.5 rounded-full bg-accent" />}
        </MenuItem>
      ))}
      <MenuSeparator />
      <MenuItem onSelect={() => signOut.mutate()}>
        <LogOut aria-hidden />
        {text.shell.signOut}
      </MenuItem>
    </>
  )
}
