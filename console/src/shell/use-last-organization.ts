import { useSuspenseQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { organizationQuery, useSession } from '../api/session.ts'
import { tabStorage } from '../browser.ts'

const key = 'organization'

export interface LastOrganization {
  id: number
  name: string
}

/** The organization that the tab showed before the current one, also before a reload; null if none. */
export function useLastOrganization(): LastOrganization | null {
  const { user } = useSession()
  const { data: current } = useSuspenseQuery(organizationQuery)
  const [last, setLast] = useState<LastOrganization | null>(null)
  const { id, name } = current
  useEffect(() => {
    // The id of the user, that of the organization, and its name, which may contain the separator
    const [userId, lastId, ...lastName] = tabStorage.read(key)?.split('/') ?? []
    tabStorage.write(key, [user.id, id, name].join('/'))
    if (userId === String(user.id) && lastId !== String(id)) {
      setLast({ id: Number(lastId), name: lastName.join('/') })
    }
  }, [user.id, id, name])
  return last
}
