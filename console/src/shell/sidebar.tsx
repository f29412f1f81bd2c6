import { Link } from '@tanstack/react-router'
import { BookOpen, Search } from 'lucide-react'
import { Wordmark } from '../components/wordmark.tsx'
import { text } from '../text/index.ts'
import { AccountMenu } from './account-menu.tsx'
import { openCommandPalette } from './command-palette.tsx'
import { useNavigation } from './navigation.ts'
import { OrganizationSwitcher } from './organization-switcher.tsx'
import { paletteKeys } from './palette-keys.ts'

const item =
  'flex items-center gap-2.5 rounded-md px-2.5 py-1.5 font-medium text-muted hover:bg-subtle hover:text-ink [&_svg]:size-4 ' +
  'data-[status=active]:bg-subtle data-[status=active]:text-ink data-[status=active]:[&_svg]:text-accent'

/** The sidebar: organization, navigation and account. */
export function Sidebar({ onNavigate }: { onNavigate?: () => void }) {
  const pages = useNavigation()
  return (
    <div className="flex h-full flex-col gap-4 overflow-y-auto p-3">
      <div className="px-2.5 pt-2">
        <Wordmark />
      </div>
      <OrganizationSwitcher />
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
        <kbd className="ml-auto font-sans text-xs">{paletteKeys.join(' ')}</kbd>
      </button>
      <nav aria-label={text.shell.navigation} className="grid gap-0.5">
        {pages.map(({ to, label, icon: Icon }) => (
          <Link key={to} to={to} className={item} {...(onNavigate && { onClick: onNavigate })}>
            <Icon aria-hidden />
            {label}
          </Link>
        ))}
      </nav>
      <div className="mt-auto grid gap-0.5">
        <a href="/docs" className={item}>
          <BookOpen aria-hidden />
          {text.shell.apiReference}
        </a>
        <AccountMenu />
      </div>
    </div>
  )
}
