export { default } from './Docs.svelte';
