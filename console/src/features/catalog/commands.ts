import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { Library, Rocket } from 'lucide-react'
import { useCan } from '../../api/session.ts'
import type { Command } from '../../components/command.ts'
import { modelsQuery } from '../../domain/models/queries.ts'
import { text } from '../../text/index.ts'

/** Commands that open the catalog or the page of one model. */
export function useCatalogCommands(): Command[] {
  const navigate = useNavigate()
  const can = useCan()
  const { data: models = [] } = useQuery(modelsQuery)
  const deploy: Command = {
    group: 'actions',
    id: 'deploy',
    icon: Rocket,
    label: text.palette.deployModel,
    run: () => navigate({ to: '/catalog' }),
  }
  return [
    ...(can('createDeployments') ? [deploy] : []),
    ...models.map(({ id, display_name, model_name, provider, family, tags }): Command => ({
      group: 'models',
      id: model_name,
      icon: Library,
      label: display_name,
      keywords: [model_name, provider, family, ...tags].join(' '),
      searchOnly: true,
      run: () => navigate({ to: '/catalog/$modelId', params: { modelId: id } }),
    })),
  ]
}
