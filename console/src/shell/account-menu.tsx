import { Link } from '@tanstack/react-router'
import { LogOut, Mail, UserRound } from 'lucide-react'
import { useSession } from '../api/session.ts'
import { Menu, MenuItem, MenuLabel, MenuSeparator } from '../components/menu.tsx'
import { text } from '../text/index.ts'
import { chooseTheme, useTheme } from '../theme.ts'
import { themes } from './themes.ts'
import { useOwnInvitations } from '../domain/session/invitations-query.ts'
import { useSignOut } from '../domain/session/sign-out.ts'

/** The signed-in person, with a menu for the profile, the theme and sign-out. */
export function AccountMenu() {
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
