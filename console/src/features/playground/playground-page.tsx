import { Page } from '../../components/page.tsx'

export function PlaygroundPage() {
  return <Page title="PlaygroundPage">{null}</Page>
}
