import './app.css';
import { mount } from 'svelte';
import App from './App.svelte';
import { ignoreOtherDrops } from './kit/fileDrop.ts';

ignoreOtherDrops();
mount(App, { target: document.getElementById('app')! });
