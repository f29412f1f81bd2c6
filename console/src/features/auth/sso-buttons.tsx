import { useQuery } from '@tanstack/react-query'
import { Button } from '../../components/button.tsx'
import { ssoProvidersQuery } from '../../domain/session/sign-in-methods.ts'
import { text } from '../../text/index.ts'

/** Links to sign in through the identity providers, if any. `alone`: the page has no form above. */
export function SsoButtons({ returnPath, alone }: { returnPath: string; alone: boolean }) {
  const { data: providers = [] } = useQuery(ssoProvidersQuery)
  if (providers.length === 0) return null
  return (
    <>
      {!alone && <OrLine />}
      {providers.map(({ name, display_name, login_url }) => (
        <Button key={name} variant={alone ? 'primary' : 'secondary'} asChild>
          <a href={`${login_url}?${new URLSearchParams({ return_to: returnPath })}`}>
            {text.auth.continueWith(display_name)}
          </a>
        </Button>
      ))}
    </>
  )
}

/** A divider with the word "or". */
export function OrLine() {
  return (
    <div className="flex items-center gap-3 text-[0.8125rem] text-muted before:h-px before:flex-1 before:bg-line after:h-px after:flex-1 after:bg-line">
      {text.auth.or}
    </div>
  )
}
