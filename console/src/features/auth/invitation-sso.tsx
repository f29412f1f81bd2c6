import { useQuery } from '@tanstack/react-query'
import { Button } from '../../components/button.tsx'
import { ErrorMessage } from '../../components/states.tsx'
import { ssoProvidersQuery } from '../../domain/session/sign-in-methods.ts'
import { text } from '../../text/index.ts'
import { useInvitationSso } from './invitation-queries.ts'
import { OrLine } from './sso-buttons.tsx'

/** Buttons that accept the invitation through an identity provider; renders nothing without one. */
export function InvitationSso({ token, alone = false }: { token: string; alone?: boolean }) {
  const { data: providers = [] } = useQuery(ssoProvidersQuery)
  const start = useInvitationSso(token)
  if (providers.length === 0) return null
  return (
    <>
      {!alone && <OrLine />}
      <ErrorMessage error={start.error} />
      {providers.map(({ name, display_name }) => (
        <Button
          key={name}
          busy={(start.isPending || start.isSuccess) && start.variables === name}
          onClick={() => start.mutate(name)}
        >
          {text.auth.continueWith(display_name)}
        </Button>
      ))}
    </>
  )
}
