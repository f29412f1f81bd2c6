import { useRouter } from '@tanstack/react-router'
import { useCan } from '../api/session.ts'
import { usePaysHere } from '../domain/installation.ts'

/** The pages in the sidebar and the command palette that the person's role may open. */
export function useNavigation() {
  const can = useCan()
  const paysHere = usePaysHere()
  const { routesByPath } = useRouter()
  return Object.values(routesByPath).flatMap(({ fullPath, options: { staticData } }) => {
    const { heading, navigation } = staticData?.page ?? {}
    if (!heading || !navigation || (navigation.permission && !can(navigation.permission))) return []
    const { title, description: keywords = '' } = heading
    const label = paysHere ? title : (navigation.titleWithoutBilling ?? title)
    return [{ to: fullPath, label, keywords, icon: navigation.icon }]
  })
}
