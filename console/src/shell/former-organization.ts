import { useQueryClient, useSuspenseQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { organizationQuery, useSession } from '../api/session.ts'
import { tabStorage } from '../browser.ts'
import { organizationsQuery, useOpenOrganization } from '../domain/session/organizations.ts'

const key = 'organization'

interface FormerOrganization {
  name: string
  /** The name of the organization that the person works in now */
  next: string
}

/**
 * The organization that the tab showed, if the person has lost the membership since, also before a reload.
 * Opens the deployments of the current organization then. The second value is to be called to forget it.
 */
export function useFormerOrganization(): [FormerOrganization | null, () => void] {
  const { user } = useSession()
  const { data: current } = useSuspenseQuery(organizationQuery)
  const [former, setFormer] = useState<FormerOrganization | null>(null)
  const queryClient = useQueryClient()
  const open = useOpenOrganization()
  const { id, name } = current
  useEffect(() => {
    const last = readLast(user.id)
    tabStorage.write(key, JSON.stringify({ userId: user.id, id, name }))
    if (last === undefined || last.id === id) return
    void queryClient
      .fetchQuery({ ...organizationsQuery, staleTime: 0 })
      .then((organizations) => {
        if (organizations.some((one) => one.id === last.id)) return
        setFormer({ name: last.name, next: name })
        return open()
      })
      .catch(() => undefined)
    // oxlint-disable-next-line react-hooks/exhaustive-deps -- once for each change of the organization
  }, [user.id, id])
  return [former, () => setFormer(null)]
}

/** The organization that the tab showed last, unless somebody else was signed in. */
function readLast(userId: number): { id: number; name: string } | undefined {
  const stored = tabStorage.read(key)
  const last = stored === null ? null : (JSON.parse(stored) as { userId: number; id: number; name: string })
  return last?.userId === userId ? last : undefined
}
